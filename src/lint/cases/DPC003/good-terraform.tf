resource "helm_release" "plugin" {
  name  = "nvidia-device-plugin"
  chart = "nvidia-device-plugin"
  values = [<<-EOT
    config:
      map:
        default: |-
          version: v1
          sharing:
            timeSlicing:
              failRequestsGreaterThanOne: true
              resources:
              - name: nvidia.com/gpu
                replicas: ${var.shares}
    EOT
  ]
}
