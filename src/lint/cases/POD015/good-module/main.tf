module "eks" {
  eks_managed_node_groups = {
    gpu = {
      labels = {
        "workload-type" = "gpu"
      }
    }
  }
}
