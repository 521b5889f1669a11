resource "helm_release" "operator" {
  name       = "gpu-operator"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  chart      = "gpu-operator"
  version    = var.operator_version
}

resource "helm_release" "own" {
  name  = "gpu-operator"
  chart = "${path.module}/charts/gpu-operator"
}
