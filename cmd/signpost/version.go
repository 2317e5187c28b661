package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/internal/settings"
	"github.com/signpostd/signpost/internal/version"
)

// versionInfo is what `signpost version -o json` prints.
type versionInfo struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(s streams) *cobra.Command {
	output := settings.OutputText
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			return printVersion(s.out, output)
		},
	}
	cmd.Flags().VarP(settings.Choice(&output, settings.OutputText, settings.OutputJSON), "output", "o", "`format`: text or json")
	return cmd
}

func printVersion(w io.Writer, output string) error {
	if output == settings.OutputJSON {
		return json.NewEncoder(w).Encode(versionInfo{
			Version:  version.Current(),
			Go:       runtime.Version(),
			Platform: runtime.GOOS + "/" + runtime.GOARCH,
		})
	}
	_, err := fmt.Fprintln(w, version.Current())
	return err
}
