// Command jq filters JSON with the language of jq. It is gojq's command, unchanged: this directory is a module of its own, so that the
// libraries of gojq are no dependencies of the host, and its go.mod and go.sum pin them.
package main

import (
	"os"

	"github.com/itchyny/gojq/cli"
)

func main() { os.Exit(cli.Run()) }
