{{- define "signpost.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of all objects. With the longest suffix, -destination, it is the name of a Service: 63 bytes. */}}
{{- define "signpost.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 51 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "signpost.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 51 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 51 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "signpost.selector" -}}
app.kubernetes.io/name: signpost
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "signpost.labels" -}}
{{ include "signpost.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{- define "signpost.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "signpost.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "signpost.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The Lease of the role dns: each release has its own, because it has publishers of its own. */}}
{{- define "signpost.dnsLease" -}}
{{- $fullname := include "signpost.fullname" . -}}
{{- if eq $fullname "signpost" -}}
signpost-dns
{{- else -}}
{{- printf "%s-dns" $fullname -}}
{{- end -}}
{{- end -}}

{{/* The controllers that run, as a JSON list; of a name and the name with a dash, the first one counts. */}}
{{- define "signpost.controllers" -}}
{{- $names := list "*" -}}
{{- if hasKey .Values.controllers.config "names" }}{{ $names = .Values.controllers.config.names }}{{ end -}}
{{- if kindIs "string" $names }}{{ $names = splitList "," (nospace $names) }}{{ end -}}
{{- $running := list -}}
{{- range $name, $_ := (.Files.Get "files/rights.yaml" | fromYaml).controllers -}}
{{- $decided := "" -}}
{{- range $names -}}
{{- if and (not $decided) (has . (list $name (printf "-%s" $name))) }}{{ $decided = . }}{{ end -}}
{{- end -}}
{{- if eq $name ($decided | default (ternary $name "" (has "*" $names))) }}{{ $running = append $running $name }}{{ end -}}
{{- end -}}
{{- toJson $running -}}
{{- end -}}

{{/* The variable that a field of a publisher gets the value of a Secret by. */}}
{{- define "signpost.variable" -}}
SIGNPOST_{{ .index }}_{{ .field | upper | replace "-" "_" }}
{{- end -}}

{{/* Whether a field of a publisher can name a file with its value, which the program reads again when it changes. */}}
{{- define "signpost.isSecretFile" -}}
{{- if has .field (splitList "\n" (.files.Get "files/secret-fields.txt")) -}}true{{- end -}}
{{- end -}}

{{/* The sources of the volume with the secrets of publishers, as files INDEX-FIELD; empty for none. */}}
{{- define "signpost.secretFiles" -}}
{{- if .Values.dns.enabled -}}
{{- range $index, $publisher := .Values.dns.publishers }}
{{- range $field, $ref := $publisher.secretRef }}
{{- if include "signpost.isSecretFile" (dict "files" $.Files "field" $field) }}
- secret: {name: {{ $ref.name | quote }}, items: [{key: {{ $ref.key | quote }}, path: {{ printf "%d-%s" $index $field }}}]}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The config file. */}}
{{- define "signpost.config" -}}
{{- $namespace := .Release.Namespace -}}
{{- $lease := dict "leaderElection" (dict "resourceNamespace" $namespace) -}}
{{- $file := dict "apiVersion" "signpost.dev/v1alpha1" "kind" "Config" "log" .Values.log "admin" (dict "address" ":9996") -}}
{{- $host := ternary "" "127.0.0.1" (eq .Values.inspection.listen "all") -}}
{{- $_ := set $file "inspection" (dict "address" (printf "%s:%d" $host (int .Values.inspection.port)) "trustLoopback" (and .Values.inspection.trustLoopback (not .Values.hostNetwork))) -}}
{{- if .Values.destination.enabled -}}
{{- $_ := set $file "destination" (mergeOverwrite (deepCopy $lease) (deepCopy .Values.destination.config)) -}}
{{- end -}}
{{- if .Values.controllers.enabled -}}
{{- $_ := set $file "controllers" (mergeOverwrite (deepCopy $lease) (deepCopy .Values.controllers.config)) -}}
{{- end -}}
{{- if .Values.xds.enabled -}}
{{- $files := dict -}}
{{- if .Values.xds.tlsSecret -}}
{{- $_ := set $files "tls" (dict "cert" "/etc/signpost-xds/tls.crt" "key" "/etc/signpost-xds/tls.key") -}}
{{- if eq (get .Values.xds.config "auth" | toString) "mtls" }}{{ $_ := set $files.tls "clientCA" "/etc/signpost-xds/ca.crt" }}{{ end -}}
{{- end -}}
{{- /* Without Linkerd there is no namespace linkerd, which is the default of the program. */ -}}
{{- if not .Values.destination.enabled }}{{ $_ := set $files "linkNamespace" .Release.Namespace }}{{ end -}}
{{- $_ := set $file "xds" (mergeOverwrite $files (deepCopy .Values.xds.config)) -}}
{{- end -}}
{{- if .Values.dns.enabled -}}
{{- $publishers := list -}}
{{- range $index, $publisher := .Values.dns.publishers -}}
{{- $fields := deepCopy $publisher -}}
{{- range $field, $_ := $publisher.secretRef -}}
{{- if include "signpost.isSecretFile" (dict "files" $.Files "field" $field) -}}
{{- $_ := unset $fields $field -}}
{{- $_ := set $fields (printf "%s-file" $field) (printf "/etc/signpost-secrets/%d-%s" $index $field) -}}
{{- else -}}
{{- $_ := set $fields $field (printf "${%s}" (include "signpost.variable" (dict "index" $index "field" $field))) -}}
{{- end -}}
{{- end -}}
{{- $publishers = append $publishers (omit $fields "secretRef") -}}
{{- end -}}
{{- $election := deepCopy $lease -}}
{{- $name := include "signpost.dnsLease" . -}}
{{- if ne $name "signpost-dns" -}}
{{- $_ := set $election.leaderElection "resourceName" $name -}}
{{- end -}}
{{- $_ := set $file "dns" (mergeOverwrite $election (dict "publishers" $publishers)) -}}
{{- end -}}
{{- toYaml $file -}}
{{- end -}}

{{/* The bootstrap file of xDS clients. */}}
{{- define "signpost.xdsBootstrap" -}}
{{- $files := .Values.xds.bootstrap -}}
{{- $channel := dict "type" "insecure" -}}
{{- if .Values.xds.tlsSecret -}}
{{- $tls := dict -}}
{{- range $key, $path := dict "ca_certificate_file" $files.ca "certificate_file" $files.cert "private_key_file" $files.key -}}
{{- if $path }}{{ $_ := set $tls $key $path }}{{ end -}}
{{- end -}}
{{- $channel = dict "type" "tls" "config" $tls -}}
{{- end -}}
{{- $uri := printf "dns:///%s-xds.%s.svc:8087" (include "signpost.fullname" .) .Release.Namespace -}}
{{- $server := dict "server_uri" $uri "channel_creds" (list $channel) "server_features" (list "xds_v3" "ignore_resource_deletion") -}}
{{- if $files.token -}}
{{- $_ := set $server "call_creds" (list (dict "type" "jwt_token_file" "config" (dict "jwt_token_file" $files.token))) -}}
{{- end -}}
{{- dict "xds_servers" (list $server) "node" (dict "id" "signpost" "locality" dict) "authorities" dict | toJson -}}
{{- end -}}

{{/* Whether any role is switched on. */}}
{{- define "signpost.any" -}}
{{- if or .Values.destination.enabled .Values.controllers.enabled .Values.dns.enabled .Values.xds.enabled -}}true{{- end -}}
{{- end -}}
