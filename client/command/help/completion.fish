# fish completion of clusterctl, as `clusterctl completion fish` prints it.
function __clusterctl_words
    set -l words (commandline -opc) (commandline -ct)
    set -l found (command clusterctl complete $words[2..-1] 2>/dev/null </dev/null)
    if test "$found[1]" = ":files"
        __fish_complete_path (commandline -ct)
    else if set -q found[1]
        printf '%s\n' $found
    end
end
complete -c clusterctl -f -a '(__clusterctl_words)'
