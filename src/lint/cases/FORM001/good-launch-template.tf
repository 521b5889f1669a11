resource "aws_launch_template" "gpu" {
  name_prefix = "gpu-"
  image_id    = "ami-0123456789abcdef0"
  monitoring {
    enabled = true
  }
  tag_specifications {
    resource_type = "instance"
    tags          = { team = "vision" }
  }
  tag_specifications {
    resource_type = "volume"
    tags          = { team = "vision" }
  }
}
