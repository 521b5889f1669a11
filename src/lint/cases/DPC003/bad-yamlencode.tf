resource "helm_release" "plugin" {
  name    = "nvdp"
  chart   = "nvidia-device-plugin"
  version = "0.17.0"
  values = [
    yamlencode({
      config = {
        map = {
          default = yamlencode({
            version = "v1"
            flags   = { "migStrategy" : "none" }
            sharing = {
              timeSlicing = {
                replicas = 4 # of each GPU
              }
            }
          })
        }
      }
    })
  ]
}

resource "kubernetes_manifest" "smi" {
  manifest = {
    apiVersion = "batch/v1"
    kind       = "Job"
    metadata   = { name = "smi", namespace = var.namespace }
    spec = {
      template = {
        spec = {
          containers = [{
            name  = "smi"
            image = "nvidia/cuda:12.4.1-base-ubuntu22.04"
            resources = {
              limits = {
                cpu              = "1"
                memory           = "1Gi"
                "nvidia.com/gpu" = "0.5"
              }
            }
          }]
        }
      }
    }
  }
}
