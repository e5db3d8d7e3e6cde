{{- define "freezepipe.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "freezepipe.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "freezepipe.labels" -}}
{{ include "freezepipe.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: freezepipe
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "freezepipe.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "freezepipe.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The reference of an image: (dict "root" $ "image" .Values.image.worker). */ -}}
{{- define "freezepipe.image" -}}
{{- $place := printf "%s/%s" .root.Values.image.registry .image.name -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $place .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $place (default .root.Chart.AppVersion .root.Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "freezepipe.coordinatorService" -}}
{{- include "freezepipe.fullname" . }}-coordinator
{{- end -}}
