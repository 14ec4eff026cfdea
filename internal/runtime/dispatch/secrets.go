package dispatch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// secret reads the value of a credential. No error contains the value.
func (d *Dispatcher) secret(ctx context.Context, system discovery.System, c *config.Credential) (string, error) {
	if c.Command != nil {
		return d.commands.Value(ctx, c.Command)
	}
	return discovery.Secret(system, c)
}

// environment returns the granted variables, with the values of those whose values are not in the config, and the variable that says that the
// plugin is being developed.
func (p *plugin) environment(ctx context.Context) (map[string]string, error) {
	options := p.view.catalog.Options
	if options.Development == nil && p.Grant.Secrets == nil {
		return p.Grant.Env, nil
	}
	env := maps.Clone(p.Grant.Env)
	if env == nil {
		env = map[string]string{}
	}
	if options.Development != nil {
		env[manifest.EnvDevelopment] = "1"
	}
	for _, name := range slices.Sorted(maps.Keys(p.Grant.Secrets)) {
		source := p.Grant.Secrets[name]
		value, err := p.dispatcher.secret(ctx, options.System, &config.Credential{File: source.File, Command: source.Command})
		if err == nil && strings.ContainsRune(value, 0) {
			err = fmt.Errorf("its file contains a NUL byte")
		}
		if err != nil {
			return nil, fmt.Errorf("the variable %s (%s): %w", name, p.Entry.At("env."+name), err)
		}
		env[name] = value
	}
	return env, nil
}
