resource "helm_release" "plugin" {
  name    = "nvdp"
  chart   = "nvidia-device-plugin"
  version = "0.17.0"
  values = [
    yamlencode({
      config = {
        map = var.replicas <= 1 ? {} : {
          default = yamlencode({
            version = "v1"
            sharing = {
              timeSlicing = {
                failRequestsGreaterThanOne = true
                resources = [
                  {
                    name     = "nvidia.com/gpu"
                    replicas = var.replicas
                  }
                ]
              }
            }
          })
        }
      }
    })
  ]
}

# resource "kubernetes_manifest" "old" {
#   manifest = {
#     apiVersion = "batch/v1beta1"
#     kind       = "CronJob"
#   }
# }
