package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
)

// readEnvironment reads the environment of a call.
func readEnvironment(now time.Time) (env.Env, error) {
	cwd, err := os.Getwd()
	if err == nil {
		cwd, err = filepath.EvalSymlinks(cwd)
	}
	if err != nil {
		return env.Env{}, fmt.Errorf("cannot find the working directory: %w", err)
	}
	home := os.Getenv("HOME")
	if home == "" {
		home = os.Getenv("USERPROFILE")
	}
	if !filepath.IsAbs(home) {
		return env.Env{}, errors.New(`the home directory is unknown: grant the variable HOME to the plugin, by --env HOME or by env = { HOME = "${env:HOME}" } in bulkhead.toml`)
	}
	return env.Env{Now: now, Home: filepath.Clean(home), Cwd: cwd, Var: os.Getenv}, nil
}
