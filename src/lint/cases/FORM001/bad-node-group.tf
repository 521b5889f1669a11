resource "aws_eks_node_group" "gpu" {
  cluster_name  = var.cluster
  node_role_arn = aws_iam_role.node.arn
  subnet_ids    = var.subnet_ids
  instance_type = ["g4dn.2xlarge"]
  max_size      = 5
  scaling_config {
    desired_size = 0
    max_size     = 5
    min_size     = 0
  }
  taints {
    key    = "nvidia.com/gpu"
    value  = "true"
    effect = "NO_SCHEDULE"
  }
}
