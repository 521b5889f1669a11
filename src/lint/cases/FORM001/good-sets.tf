resource "helm_release" "operator" {
  name       = "gpu-operator"
  namespace  = "gpu-operator"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  chart      = "gpu-operator"
  version    = "v25.3.0"

  set = [
    { name = "driver.enabled", value = "false" },
    { name = "devicePlugin.config.name", value = "slices" },
    { name = "devicePlugin.config.default", value = var.config },
    { name = "daemonsets.tolerations[0].key", value = "nvidia.com/gpu" },
    { name = "driver.version", value = "570", type = "string" },
  ]
}
