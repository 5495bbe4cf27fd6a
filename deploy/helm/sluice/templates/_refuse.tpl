{{/*
What can't work is refused, with the reason. `sluice check` and `sluice manifest` know
more: they read the limits.
*/}}
{{- define "sluice.refuse" -}}
{{- $v := .Values -}}
{{- $redis := $v.config.redis | default dict -}}
{{- $clustered := include "sluice.clustered" . -}}
{{- $link := $redis.link | default "" -}}
{{- if $redis.password -}}
{{- fail "config.redis.password: values are stored in the cluster and in files, so they hold no password; use redis.passwordSecret" -}}
{{- end -}}
{{- if and (eq $link "http") (ne $v.target "higress") -}}
{{- fail "config.redis.link: http is for trials, and not in this chart; use `sluice manifest`" -}}
{{- end -}}
{{- if and (eq $link "host") (ne $v.target "higress") -}}
{{- fail "config.redis.link: host needs Redis calls that only Higress has; leave it out" -}}
{{- end -}}
{{- if and $link (ne $link "host") (eq $v.target "higress") -}}
{{- fail "config.redis.link: Higress's plugins reach Redis by its own calls; leave it out" -}}
{{- end -}}
{{- if and (gt (len $v.redis.addresses) 1) (not $clustered) -}}
{{- fail "redis.addresses: several are the nodes of a Redis Cluster: say redis.cluster: true; of replicas give the one address that leads to the master" -}}
{{- end -}}
{{- if and $redis.cluster (contains "|" $redis.cluster) (ne $v.target "higress") -}}
{{- fail "config.redis.cluster: Envoy sends the name of a cluster that a plugin calls as a host name, and no host name has a |" -}}
{{- end -}}
{{- if has $redis.cluster (list "redis_nodes" "redis_rl") -}}
{{- fail (printf "config.redis.cluster: %q is the name of something else that the chart makes" $redis.cluster) -}}
{{- end -}}
{{- if $clustered -}}
{{- if eq $v.target "higress" -}}
{{- fail "redis.cluster: Higress's Redis calls know no Redis Cluster" -}}
{{- end -}}
{{- if $redis.username -}}
{{- fail "config.redis.username: with a Redis Cluster Envoy's Redis proxy logs in, as the default user" -}}
{{- end -}}
{{- $counters := 0 -}}
{{- range $v.config.limits -}}
{{- $counters = add $counters (ternary (len (.rate | default list)) 1 (kindIs "slice" .rate)) -}}
{{- end -}}
{{- if and (gt (int $counters) 1) (ne ($redis.topology | default "single") "cluster") -}}
{{- fail "config.redis.topology: these limits have several counters, which lie on different nodes of a Redis Cluster; say topology: cluster" -}}
{{- end -}}
{{- if $redis.db -}}
{{- fail "config.redis.db: a Redis Cluster has only database 0" -}}
{{- end -}}
{{- end -}}
{{- if eq $v.target "higress" -}}
{{- if or $v.redis.passwordSecret.name $v.redis.tls.enabled -}}
{{- fail "redis: Higress takes the password from the gateway's environment, and TLS from the service's DestinationRule or McpBridge: set them there" -}}
{{- end -}}
{{- else if and (ne $v.mode "gateway") (ne $v.target "istio") -}}
{{- fail (printf "mode: %s is Istio's" $v.mode) -}}
{{- else if and (eq $v.target "envoy-gateway") (or $v.selector (not $v.gateway)) -}}
{{- fail "gateway: Envoy Gateway attaches to a Gateway, by its name" -}}
{{- else if and (eq $v.mode "sidecar") (or $v.gateway (not $v.selector)) -}}
{{- fail "selector: picks the pods whose sidecars get the plugin, by their labels, without gateway" -}}
{{- else if and (eq $v.mode "waypoint") (or $v.selector (not $v.gateway)) -}}
{{- fail "gateway: is the waypoint's name; Istio attaches to waypoints by name only" -}}
{{- else if and (eq $v.mode "gateway") (eq (empty $v.gateway) (empty $v.selector)) -}}
{{- fail "gateway: is the name of the Gateway that gets the plugin; for one that no Gateway resource made say selector instead" -}}
{{- end -}}
{{- if ne (empty $v.redis.tls.certFile) (empty $v.redis.tls.keyFile) -}}
{{- fail "redis.tls: certFile and keyFile belong together" -}}
{{- end -}}
{{- end -}}
