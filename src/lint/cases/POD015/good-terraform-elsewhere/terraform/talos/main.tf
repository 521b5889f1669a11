locals {
  node_labels = merge(
    { "bgp.asn" = tostring(node.asn) },
    try(node.gpu.enabled, false) ? {
      "gpu.passthrough" = "true"
    } : {},
  )
}
