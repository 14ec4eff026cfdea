package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/publish"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// keyPassword is the variable with the password of a signing key.
const keyPassword = "BULKHEAD_KEY_PASSWORD"

func newPluginPush() *cobra.Command {
	var asJSON bool
	var key, list string
	c := &cobra.Command{
		Use:   "push REF [DIR] [flags]",
		Short: "Pack, sign and publish a plugin",
		Long: `Build the plugin in DIR (default: the working directory) if it is not built, check it, pack
it into an archive, sign that, and store both at REF:

  oci://REGISTRY/NAME[:TAG]   a registry; without a tag, the version is the tag. Access is that
                              of docker login. A version that was pushed is not replaced.
  file:DIRECTORY              files NAME-VERSION.plugin.tar and .minisig, to look at or to
                              upload to a web server

The archive has plugin.toml, the module, README.md, licences, a bill of materials and the
digests of the sources. The same plugin gives the same bytes on every system. What push and
revoke write is no source: archives, catalogues, lists of revoked plugins, signatures, keys.

The key is made at the first push, in the directory of the user's config, without a
password: keep a copy of the file, since no other key can sign the next version. A key of
minisign works too (--key); its password is asked for, or read from BULKHEAD_KEY_PASSWORD.

At the end the command is printed with which it is added elsewhere, and the entry for a
catalogue, by which others find it by its name. With --catalogue it is added to that
catalogue, a file or an artifact of a registry, which is created if it does not exist,
gets the next serial number and is signed with the same key. Archives in the directory of
the file are named relative to it, so that the directory can be uploaded as it is.`,
		Example: `  bulkhead plugin push file:out                                # look at what would be published
  bulkhead plugin push file:out --catalogue out/catalogue.toml
  bulkhead plugin push oci://ghcr.io/ada/notes plugins/notes --catalogue oci://ghcr.io/ada/catalogue:latest
  bulkhead plugin push oci://ghcr.io/ada/notes:latest plugins/notes --key ~/.minisign/minisign.key`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			o := publish.Options{Dir: ".", Ref: args[0], Key: key, Catalogue: list, Build: buildOptions(), Client: &registry.Client{Credential: registryCredential()},
				Password: func() (string, error) { return readPassword(c.Context(), c.InOrStdin()) }}
			if len(args) == 2 {
				o.Dir = args[1]
			}
			if o.Key == "" {
				var err error
				if o.Key, err = discovery.SigningKey(discovery.System{}); err != nil {
					return err
				}
			}
			tasks := tasksOn(os.Stderr, asJSON)
			defer tasks.Close()
			o.Build.Progress = tasks
			p, err := publish.Publish(c.Context(), o)
			if err != nil {
				return err
			}
			for _, text := range p.Warnings {
				fmt.Fprintf(os.Stderr, "warning: %s\n", text)
			}
			return printResult(c, asJSON, p, func(w page) { printPublished(w, p) })
		},
	}
	c.Flags().StringVar(&key, "key", "", "`file` with the private key (default: signing.key beside the user's config)")
	c.Flags().StringVar(&list, "catalogue", "", "`FILE` or oci:// reference of a catalogue to which the version is added")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"name\", \"version\", \"from\", \"sha256\", \"archive\", \"size\", \"signer\", \"key_file\",\n\"new_key\", \"files\", \"entry\", \"catalogue\", \"serial\", \"new_catalogue\", \"replaced\", \"warnings\"}")
	return c
}

func printPublished(w page, p *publish.Published) {
	fmt.Fprintf(w, "%s %s\n", oneLine(p.Name), oneLine(p.Version))
	fmt.Fprintf(w, "  from      %s\n", oneLine(p.From))
	fmt.Fprintf(w, "  manifest  %s\n", p.Manifest)
	fmt.Fprintf(w, "  archive   %s, %d bytes\n", p.Archive, p.Size)
	for i, name := range p.Files {
		label := "files"
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(w, "  %-8s  %s\n", label, oneLine(name))
	}
	fmt.Fprintf(w, "  signer    %s\n", p.Signer)
	if p.NewKey {
		fmt.Fprintf(w, "\nThe key was made now: %s\nKeep a copy of it, and keep it secret: the next version must be signed with it.\n", oneLine(p.KeyFile))
	}
	fmt.Fprintf(w, "\nTo add it:\n  bulkhead add '%s' --signer %s\n", oneLine(p.From), p.Signer)
	if p.Catalogue == "" {
		fmt.Fprintf(w, "\nIts entry in a catalogue, which --catalogue FILE writes:\n")
		for line := range strings.Lines(p.Entry) {
			fmt.Fprintf(w, "  %s", line)
		}
		return
	}
	if p.NewCatalogue {
		fmt.Fprintf(w, "\nThe catalogue is new: there was none at %s\n", oneLine(p.Catalogue))
	}
	if p.Replaced != "" {
		fmt.Fprintf(w, "\nThe entry of %s %s in the catalogue was another one, which those who have pinned it still use:\n", oneLine(p.Name), oneLine(p.Version))
		for line := range strings.Lines(p.Replaced) {
			fmt.Fprintf(w, "  %s\n", oneLine(line))
		}
	}
	fmt.Fprintf(w, "\nIt is in the catalogue, with the serial number %d. With this in a config, `bulkhead add %s` finds it:\n", p.Serial, p.Name)
	fmt.Fprintf(w, "  [sources]\n  catalogues = [{ from = %s, key = %q }]\n", tomlfile.Text(p.Catalogue), p.Signer)
}

// registryCredential returns a function that reads the credentials of Docker.
func registryCredential() func(ctx context.Context, registry string) (registry.Credential, error) {
	return registry.DockerCredentials(registry.DockerConfig(discovery.LookupEnv(discovery.System{})))
}

// readPassword returns the password of a signing key, from keyPassword or else the terminal.
func readPassword(ctx context.Context, stdin io.Reader) (string, error) {
	if value, ok := os.LookupEnv(keyPassword); ok {
		return value, nil
	}
	terminal, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(terminal) {
		return "", usage.Errorf("the key is encrypted, and there is no terminal to ask for its password: set %s", keyPassword)
	}
	fmt.Fprint(os.Stderr, "Password of the key: ")
	defer fmt.Fprintln(os.Stderr)
	return term.ReadPassword(ctx, terminal)
}
