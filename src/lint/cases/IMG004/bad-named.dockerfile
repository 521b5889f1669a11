# Answers on the RTX 5090 of the workshop
FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
COPY . /app
CMD ["python", "/app/serve.py"]
