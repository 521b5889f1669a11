resource "kubernetes_resource_quota" "team" {
  metadata {
    name = "team"
  }
  spec {
    hard = {
      "nvidia.com/gpu" = 4
      pods             = 20
    }
  }
}
