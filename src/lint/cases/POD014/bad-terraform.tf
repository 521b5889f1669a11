resource "kubernetes_deployment_v1" "captions" {
  metadata {
    name = "captions"
  }
  spec {
    replicas = var.replicas
    selector {
      match_labels = { app = "captions" }
    }
    template {
      metadata {
        labels = { app = "captions" }
      }
      spec {
        toleration {
          key      = "nvidia.com/gpu"
          operator = "Exists"
        }
        dynamic "volume" {
          for_each = var.volumes
          content {
            name = volume.value
          }
        }
        toleration {
          key   = "pool"
          value = "gpu"
        }
        container {
          name  = "captions"
          image = "registry.example.com/captions"
          resources {
            requests = {
              cpu    = "2"
              memory = "8Gi"
            }
            limits = {
              "nvidia.com/gpu" = 1
            }
          }
        }
      }
    }
  }
}
