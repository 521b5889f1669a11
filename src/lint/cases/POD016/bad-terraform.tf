# a smoke-test of the cards
resource "kubernetes_pod" "smoke" {
  metadata { 
    name = "smoke"
  }
  spec {
    affinity {
      node_affinity {
        required_during_scheduling_ignored_during_execution {
          node_selector_term {
            match_expressions {
              key      = "nvidia.com/gpu"
              operator = "Exists"
            }
          }
        }
      }
    }
    container {
      name  = "smoke"
      image = "registry.example.com/smoke:1.0.0"
      resources {
        limits = { "nvidia.com/gpu" = "1" }
      }
    }
  }
}
