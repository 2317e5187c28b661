package main

import (
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/internal/version"
)

// versionInfo is the output of `signpost version -o json`.
type versionInfo struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(s streams) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			return printVersion(s.out, format)
		},
	}
	format.AddFlag(cmd, "text")
	return cmd
}

func printVersion(w io.Writer, format output.Format) error {
	info := versionInfo{Version: version.Current(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	return output.Print(w, format, output.Result{Value: info, Names: []string{info.Version}, Text: info.Version + "\n"})
}
