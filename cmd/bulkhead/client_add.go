package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/client"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

func newClientAdd() *cobra.Command {
	a := clientCommand{plan: client.Add, adds: true, none: "has this entry already"}
	c := &cobra.Command{
		Use:   "add CLIENT… [flags]",
		Short: "Have MCP clients start the server, or use one at a URL",
		Long: `Add an entry to the configuration of MCP clients that starts "bulkhead serve" with the
absolute path of this program, or update the entry. The difference is shown first. All
else in the file is kept: entries, comments, format, permissions, a symbolic link to it.
A copy of the file is saved in the state directory.

If the claude or codex command is installed, and keeps the rest of the file, it makes the
change. Entries for one project (--scope project) are in a file that is meant to be shared.

With --url, the entry has the URL of a server that "bulkhead serve --http" runs. https is
required except at a loopback address. A token is never written: --token-env NAME makes
the client send the value of its variable NAME, in its own syntax. Such an entry is named
bulkhead or bulkhead-…, by which list and remove recognize it.

With --replace, entries of the reference servers filesystem, git, memory, fetch and time
are removed too. The plugins of these names are added to the user's config, or to that of
the project with --scope project, with the grants that the entries have. An entry that is
not understood completely, or would need more, is left, with the reason. All files change
in one transaction. "client remove" brings the entries back; the config stays.

Exit codes: 0 success; 1 no consent; 2 the entry cannot be added (an invalid file, a
different entry of that name), or consent cannot be asked for.`,
		Example: `  bulkhead client add claude-code
  bulkhead client add claude-desktop --project ~/src/app --config ~/src/app/bulkhead.toml
  bulkhead client add vscode cursor --scope project
  bulkhead client add --all --dry-run        # every client that is installed
  bulkhead client add codex --name chant --plugins /opt/plugins/chant --yes
  bulkhead client add claude-desktop --replace --dry-run
  bulkhead client add --all --replace --public-web   # fetch may read the public web
  bulkhead client add codex --url https://mcp.example.com/mcp --token-env BULKHEAD_TOKEN
  bulkhead client add vscode --scope project --url https://mcp.example.com/mcp/app --name bulkhead-app`,
		Args:      knownClients,
		ValidArgs: client.IDs(),
		RunE: func(c *cobra.Command, ids []string) error {
			if err := a.checkURL(); err != nil {
				return err
			}
			if a.replace {
				return a.runReplace(c, ids)
			}
			if a.publicWeb {
				return usage.Errorf("--public-web has no effect without --replace: remove the flag")
			}
			return a.run(c, ids)
		},
	}
	f := c.Flags()
	a.flags(c)
	f.BoolVar(&a.replace, "replace", false, "replace entries of reference servers by plugins, with the same grants")
	f.BoolVar(&a.publicWeb, "public-web", false, publicWebUsage)
	f.StringVar(&a.options.URL, "url", "", "`URL` of a server that runs: the client does not start one")
	f.StringVar(&a.options.TokenEnv, "token-env", "", "with --url: `name` of the client's variable with the bearer token")
	f.BoolVar(&a.all, "all", false, "all clients that are installed: their program is in PATH, or their directory exists")
	f.StringVar(&a.options.Serve.Config, "config", "", "config `file` that the server uses (default: what it discovers)")
	f.StringVar(&a.options.Serve.Plugins, "plugins", "", "`directory` of plugins that the server uses if there is no config")
	return c
}

// checkURL checks the flags of an entry with a URL.
func (a *clientCommand) checkURL() error {
	o := a.options
	switch {
	case o.URL == "" && o.TokenEnv != "":
		return usage.Errorf("--token-env has no effect without --url: remove the flag")
	case o.URL == "":
		return nil
	case a.replace || o.Serve.Config != "" || o.Serve.Plugins != "":
		return usage.Errorf("--url conflicts with --config, --plugins and --replace: the server at the URL has a config of its own")
	case a.host.Project != "" && a.scope != string(client.ProjectScope):
		return usage.Errorf("--url with --project needs --scope project: the server at the URL has projects of its own")
	}
	return client.CheckURL(o.URL, o.TokenEnv)
}

// optionsFor returns the options of the entry of a client. At a terminal it asks for the project of a client that does not start servers in it.
func (a *clientCommand) optionsFor(ctx context.Context, stdin io.Reader, c *client.Client, s client.System) (client.Options, error) {
	o := a.options
	if !a.asks || !a.adds || !c.LacksProject(o) {
		return o, nil
	}
	otherwise := "empty for none"
	if s.Project != "" {
		otherwise = "empty for " + oneLine(s.Project)
	}
	answer := strings.TrimSpace(ask(ctx, stdin, maxProject, fmt.Sprintf("%s does not start servers in your project. Its directory (%s): ", c.Title, otherwise)))
	if answer == "" {
		o.Serve.Project = s.Project
		return o, nil
	}
	named, err := client.NewSystem(host.Options{Project: answer}, runtime.GOOS)
	o.Serve.Project = named.Project
	return o, err
}

// maxProject is the maximum size of the answer that names a project, in bytes.
const maxProject = 4096
