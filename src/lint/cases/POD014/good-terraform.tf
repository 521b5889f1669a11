resource "kubernetes_job" "tune" {
  count = var.enabled ? 1 : 0
  metadata {
    generate_name = "tune-"
    labels        = merge(local.labels, { app = "tune" })
  }
  spec {
    template {
      metadata {}
      spec {
        container {
          name  = "tune"
          image = "${var.registry}/tune:${var.tag}"
          args  = [for x in var.args : "--${x}"]
          env {
            name  = "SCRIPT"
            value = <<-EOT
              image: busybox:latest
            EOT
          }
          resources {
            requests = { cpu = "2", memory = "8Gi" }
            limits   = { "nvidia.com/gpu" = var.gpus }
          }
        }
      }
    }
  }
}
