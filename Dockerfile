# The image of hco-preflight. The release builds it from the static binaries in release/.
FROM debian:bookworm-slim AS certificates
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates

FROM scratch
ARG TARGETARCH
COPY --from=certificates /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY LICENSE NOTICE release/NOTICES.html /
COPY --chmod=755 release/hco-preflight-linux-${TARGETARCH} /hco-preflight
USER 65532:65532
ENTRYPOINT ["/hco-preflight"]
