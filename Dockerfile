# The images of hco-preflight. The release builds them from the static binaries in release/.
FROM debian:bookworm-slim@sha256:96e378d7e6531ac9a15ad505478fcc2e69f371b10f5cdf87857c4b8188404716 AS certificates
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates

# For `oc adm must-gather`, which copies the files with tar or rsync.
FROM certificates AS must-gather
ARG TARGETARCH
RUN apt-get install --yes --no-install-recommends bash rsync tar && rm -rf /var/lib/apt/lists/*
COPY LICENSE NOTICE release/NOTICES.html /
COPY --chmod=755 release/hco-preflight-linux-${TARGETARCH} /usr/bin/hco-preflight
COPY --chmod=755 deploy/must-gather/gather /usr/bin/gather
ENTRYPOINT ["/usr/bin/gather"]

# The default image.
FROM scratch
ARG TARGETARCH
COPY --from=certificates /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY LICENSE NOTICE release/NOTICES.html /
COPY --chmod=755 release/hco-preflight-linux-${TARGETARCH} /hco-preflight
USER 65532:65532
ENTRYPOINT ["/hco-preflight"]
