resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name    = "gpu"
  vm_size = "Standard_NC24ads_A100_v4"
  node_labels = {
    "nvidia.com/gpu" = "present"
  }
}
