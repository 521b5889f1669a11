FROM nvidia/cuda:12.8.1-base-ubuntu22.04 AS base
RUN apt-get update && apt-get install -y --no-install-recommends python3

FROM base
COPY --chmod=755 --from=scripts ./etc/start.sh /etc/start.sh
COPY --from=nodes ./ /opt/nodes
CMD ["/etc/start.sh"]
