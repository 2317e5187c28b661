# Defines spend_memory, for scripts that compile. It is sourced.

# spend_memory lets the compiler take memory instead of collecting garbage, which is a quarter of its
# work: half of what is free, and 2 GiB for each core at most.
spend_memory() {
  [[ -z ${GOGC:-}${GOMEMLIMIT:-} && -r /proc/meminfo ]] || return 0
  local free limit each
  free=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [[ $limit != max ]] && ((limit / 1048576 < free)); then free=$((limit / 1048576)); fi
  each=$((free / 2 / $(nproc)))
  ((each >= 1024)) || return 0
  export GOGC=off GOMEMLIMIT=$((each < 2048 ? each : 2048))MiB
}
