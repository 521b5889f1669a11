resource "aws_eks_node_group" "gpu" {
  cluster_name   = "ml"
  ami_type       = "AL2023_x86_64_NVIDIA"
  instance_types = ["g5.3xlarge"]
  capacity_type  = "SPOT"
  scaling_config {
    desired_size = 1
    max_size     = 2
    min_size     = 0
  }
  taint {
    key    = "nvidia.com/gpu"
    value  = "present"
    effect = "NO_SCHEDULE"
  }
  node_role_arn = aws_iam_role.node.arn
  subnet_ids    = var.subnet_ids
}
