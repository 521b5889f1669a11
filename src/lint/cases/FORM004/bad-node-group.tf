resource "aws_eks_node_group" "gpu" {
  cluster_name  = var.cluster
  node_role_arn = aws_iam_role.node.arn
  scaling_config {
    desired_size = 0
    max_size     = 5
  }
  taint {
    key = "nvidia.com/gpu"
  }
}

source "amazon-ebs" "gpu" {
  instance_type = "g4dn.xlarge"
  region        = "us-west-2"
  source_ami    = "ami-0123456789abcdef0"
  ssh_username  = "ec2-user"
}
