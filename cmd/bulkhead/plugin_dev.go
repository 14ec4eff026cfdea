package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/dev"
)

func newPluginDev() *cobra.Command {
	var o options
	var http host.HTTPOptions
	var watched []string
	c := &cobra.Command{
		Use:   "dev DIR [flags]",
		Short: "Serve a plugin while you change it",
		Long: `Build the plugin in DIR, serve it alone over stdio, and build it again whenever its
source changes. Clients are told that the lists of tools, prompts and resources changed.
A build that fails, for example because the handlers do not match the manifest, leaves
the last good one in service; the reason is on stderr with its file and line, and is
sent to clients as a log message. If the first build fails, nothing is offered until
one succeeds.

All files in DIR are watched, except for hidden directories, build, dist, target and
node_modules, the module that [build] writes, and temporary files of editors. --watch
adds directories, such as that of a library which the plugin uses. SIGHUP builds at
once. The output of builds is temporary: dist/plugins stays as it is.

The plugin gets what "bulkhead serve" gives it without a config: the project and its
own state directory. --config names a config whose table for the plugin decides instead;
its path and sha256 do not count. Build commands run as you and outside any sandbox.`,
		Example: `  bulkhead plugin dev notes
  bulkhead plugin dev notes --project ~/src/app --allow-write
  bulkhead plugin dev notes --config bulkhead.toml --watch ../lib
  bulkhead plugin dev notes --http 127.0.0.1:8808`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.serveHTTP(&http); err != nil {
				return err
			}
			o.NoConfig = o.ConfigFile == ""
			return logged(&o, func() error { return o.develop(c.Context(), args[0], watched, http) })
		},
	}
	f := c.Flags()
	f.StringVar(&o.ConfigFile, "config", "", "config `file` with a table for the plugin (default: none)")
	f.StringArrayVar(&watched, "watch", nil, "further `directory` with sources, repeatable")
	projectFlag(c, &o.Options)
	o.addGrants(c)
	o.addLog(c, "info")
	addHTTPFlags(c, &http)
	completeDirs(c)
	return c
}

// firstBuild is how long a server waits for the first build before it answers clients, because some clients list tools only once. Clients
// wait longer for a server to start.
const firstBuild = 10 * time.Second

// develop serves the plugin in dir while it is built again and again.
func (o *options) develop(ctx context.Context, dir string, watched []string, http host.HTTPOptions) error {
	log, err := o.log()
	if err != nil {
		return err
	}
	builder, err := dev.Start(ctx, dev.Config{Dir: dir, Watch: watched, Build: buildOptions(), Log: log.Named("dev")})
	if err != nil {
		return err
	}
	o.Development = builder.Plugin()
	s := server{http: http, watch: true, close: builder.Close}
	s.open = func() (h *host.Host, err error) {
		if http.Address == "" {
			select {
			case <-builder.Tried():
			case <-time.After(firstBuild):
			case <-ctx.Done():
			}
		} else { // no client is connected yet, and the config may set a token for HTTP
			select {
			case <-builder.Built():
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		err = builder.Open(func() (dev.Host, error) {
			h, err = o.open()
			return h, err
		})
		return h, err
	}
	s.reload = func(h *host.Host) error {
		builder.Rebuild(ctx)
		return h.Reload(ctx)
	}
	return o.serve(ctx, s)
}
