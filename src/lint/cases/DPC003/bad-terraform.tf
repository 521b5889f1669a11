resource "helm_release" "plugin" {
  name       = "nvidia-device-plugin"
  repository = "https://nvidia.github.io/k8s-device-plugin"
  chart      = "nvidia-device-plugin"
  version    = "0.17.4"
  values = [<<-EOT
    config:
      map:
        default: |-
          version: v1
          sharing:
            timeSlicing:
              replicas: ${var.shares}
    EOT
  ]
}
