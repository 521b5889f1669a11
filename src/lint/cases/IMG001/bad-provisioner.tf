resource "null_resource" "test" {
  provisioner "local-exec" {
    command = "docker run --rm --gpus all nvidia/cuda:12.0-base nvidia-smi"
  }
}

resource "aws_instance" "gpu" {
  instance_type = "g5.xlarge"
  user_data     = <<-EOT
    #!/bin/bash
    docker run --rm --gpus all nvidia/cuda:11.8-runtime nvidia-smi
  EOT
}
