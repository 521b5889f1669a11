resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.ml.id
  node_config {
    machine_type = "g2-standard-8"
    guest_accelerator {
      type  = "nvidia-tesla-l4"
      count = 1
    }
  }
}
