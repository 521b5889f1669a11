variable "cluster_name" {
  type        = string
  description = "The EKS cluster"
}

variable "subnet_ids" {
  type        = list(string)
  description = "Private subnets of the nodes; one zone is enough for CI, and spares traffic between zones"
}

variable "node_image_id" {
  type        = string
  description = "The image that packer made; empty: EKS' own image with NVIDIA's driver"
  default     = ""
}

data "aws_eks_cluster" "this" {
  name = var.cluster_name
}

locals {
  # For an image of one's own: nodeadm joins the cluster, and kubelet sets what EKS would have set.
  user_data = <<-END
    MIME-Version: 1.0
    Content-Type: multipart/mixed; boundary="BOUNDARY"

    --BOUNDARY
    Content-Type: application/node.eks.aws

    apiVersion: node.eks.aws/v1alpha1
    kind: NodeConfig
    spec:
      cluster:
        name: ${var.cluster_name}
        apiServerEndpoint: ${data.aws_eks_cluster.this.endpoint}
        certificateAuthority: ${data.aws_eks_cluster.this.certificate_authority[0].data}
        cidr: ${data.aws_eks_cluster.this.kubernetes_network_config[0].service_ipv4_cidr}
      kubelet:
        flags:
        - --node-labels=${join(",", [for key, value in local.labels : "${key}=${value}"])}
        - --register-with-taints=${local.taint.key}=${local.taint.value}:NoSchedule

    --BOUNDARY--
  END
}

output "node_groups" {
  value       = { for capacity, group in aws_eks_node_group.gpu : capacity => group.node_group_name }
  description = "By capacity"
}
