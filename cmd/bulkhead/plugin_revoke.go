package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/publish"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

func newPluginRevoke() *cobra.Command {
	var o publish.RevokeOptions
	var asJSON bool
	c := &cobra.Command{
		Use:   "revoke LIST [PLUGIN…] [flags]",
		Short: "Sign a list of plugins that must not be served any more",
		Long: `Add each PLUGIN to the file LIST, increase the serial number of the list, and sign it. A
PLUGIN is one of these; without one, the list is renewed only, or signed after it was edited:

  DIRECTORY       a built plugin, such as dist/plugins/notes
  REFERENCE       an archive: its file, https://HOST/PATH#sha256=DIGEST or oci://REGISTRY/NAME:TAG
  NAME@VERSION    a version in the catalogue that --catalogue names
  SHA-256         that of its plugin.toml, which bulkhead plugin push prints as "manifest" and
                  configs have as sha256, or that of its module; not that of the archive

Machines whose config or ceiling names the list, with your public key, do not serve these
plugins any more, wherever they come from. Publish LIST with LIST.minisig beside it, on a
web server or as files, or push it to a registry with --push. A key signs one list.

--push replaces a list in the registry by a newer one that has all of its entries. Where
there is no file LIST, the list in the registry is continued. Entries that were removed from
LIST are removed there with --withdraw.

The key is that of bulkhead plugin push, or --key.`,
		Example: `  bulkhead plugin revoke revoked.toml notes-1.2.0.plugin.tar --reason "sends notes to another server"
  bulkhead plugin revoke revoked.toml notes@1.2.0 --catalogue out/catalogue.toml --reason "sends notes to another server"
  bulkhead plugin revoke revoked.toml --expires 2027-06-30
  bulkhead plugin revoke revoked.toml --push oci://plugins.example/team/revoked:latest`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			o.File, o.Plugins = args[0], args[1:]
			o.Password = func() (string, error) { return readPassword(c.Context(), c.InOrStdin()) }
			o.Client = &registry.Client{Credential: registryCredential()}
			if o.Key == "" {
				if o.Key, err = discovery.SigningKey(discovery.System{}); err != nil {
					return err
				}
			}
			l, err := publish.Revoke(c.Context(), o)
			if err != nil {
				return err
			}
			return printResult(c, asJSON, l, func(w page) { printRevoked(w, l) })
		},
	}
	f := c.Flags()
	f.StringVar(&o.Reason, "reason", "", "`text` that says why, for those who use the plugins")
	f.StringVar(&o.Expires, "expires", "", "last `day` of validity, as YYYY-MM-DD (default: in 90 days)")
	f.StringVar(&o.Push, "push", "", "push the list to `oci://REGISTRY/NAME:TAG` too")
	f.BoolVar(&o.Withdraw, "withdraw", false, "with --push: also if entries of the list in the registry are missing in LIST")
	f.StringVar(&o.Catalogue, "catalogue", "", "`FILE` or oci:// reference of a catalogue, signed with the key, that has each NAME@VERSION")
	f.StringVar(&o.Key, "key", "", "`file` with the private key (default: signing.key beside the user's config)")
	f.BoolVar(&asJSON, "json", false, "print JSON: {\"file\", \"signature\", \"serial\", \"expires\", \"revoked\": [{\"sha256\", \"plugin\", \"reason\"}],\n\"signer\", \"key_file\", \"new_key\", \"pushed\", \"new\", \"continued\"}")
	return c
}

func printRevoked(w page, l *publish.RevokedList) {
	fmt.Fprintf(w, "%s  serial %d, valid until %s\n", oneLine(l.File), l.Serial, l.Expires)
	for _, r := range l.Revoked {
		name := r.Plugin
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(w, "  %s  %s  %s\n", r.SHA256, oneLine(name), oneLine(r.Reason))
	}
	switch {
	case l.New && l.Pushed != "":
		fmt.Fprintf(w, "The list is new: there was none in %s, nor in the registry\n", oneLine(l.File))
	case l.New:
		fmt.Fprintf(w, "The list is new: there was no file %s\n", oneLine(l.File))
	case l.Continued > 0:
		fmt.Fprintf(w, "There was no file %s: this continues list %d of the registry\n", oneLine(l.File), l.Continued)
	}
	fmt.Fprintf(w, "Signed with %s in %s\n", l.Signer, oneLine(l.Signature))
	if l.Pushed != "" {
		fmt.Fprintf(w, "Pushed to %s\n", oneLine(l.Pushed))
	}
	if l.NewKey {
		fmt.Fprintf(w, "\nThe key was made now: %s\nKeep a copy of it, and keep it secret: the next list must be signed with it.\n", oneLine(l.KeyFile))
	}
	from := l.File
	if l.Pushed != "" {
		from = l.Pushed
	}
	fmt.Fprintf(w, "\nA config or a ceiling names it, where it is published:\n  [sources]\n  revocations = [{ from = %q, key = %q }]\n", from, l.Signer)
}
