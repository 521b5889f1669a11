resource "helm_release" "operator" {
  name       = "gpu-operator"
  namespace  = "gpu-operator"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  chart      = "gpu-operator"
  version    = "v25.3.0"

  set {
    name  = "dcgmExporter.enable"
    value = "true"
  }
  set {
    name  = "driver.enabled"
    value = "false"
  }
}
