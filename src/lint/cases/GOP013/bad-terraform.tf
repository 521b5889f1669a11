resource "helm_release" "plugin" {
  name       = "nvidia-device-plugin"
  repository = "https://nvidia.github.io/k8s-device-plugin"
  chart      = "nvidia-device-plugin"
  version    = "0.14.5"

  set {
    name  = "tolerations[0].key"
    value = "nvidia.com/gpu"
  }
}
