package guide

import (
	"fmt"
	"regexp"
	"strings"
)

// Config is the first line of a TOML block that shows a config of the host instead of a part of a manifest.
const Config = "# bulkhead.toml\n"

// manifestHead is the part of a manifest that pages leave out.
const manifestHead = `manifest = 1

[plugin]
name        = "notes"
version     = "0.1.0"
description = "Keeps notes beside a project."

[module]
file = %q

[build]
%s

`

var toolName = regexp.MustCompile(`(?m)^name\s*=\s*"([^"]+)"`)

// Manifest returns the manifest whose parts a page shows. module is the file name of the module, and build the line in [build]. The manifest
// has only those tools whose names are in the source, since a page need not show each tool in every language.
func Manifest(blocks []Block, module, build, source string) string {
	var out strings.Builder
	fmt.Fprintf(&out, manifestHead, module, build)
	for _, b := range blocks {
		if !b.IsManifest() {
			continue
		}
		for i, part := range strings.Split("\n"+b.Text, "\n[[tools]]\n") {
			if name := toolName.FindStringSubmatch(part); i > 0 && name != nil && !strings.Contains(source, `"`+name[1]+`"`) {
				continue
			}
			if i > 0 {
				part = "\n[[tools]]\n" + part
			}
			out.WriteString(strings.TrimPrefix(part, "\n") + "\n")
		}
	}
	return out.String()
}

// IsManifest reports whether the block is a part of a manifest.
func (b Block) IsManifest() bool {
	return b.Language == "toml" && b.Untested == "" && b.File == "" && !strings.HasPrefix(b.Text, Config)
}

// Source returns the blocks of a language that are not complete files, in order.
func Source(blocks []Block, language string) string {
	var out strings.Builder
	for _, b := range blocks {
		if b.Language == language && b.File == "" && b.Untested == "" {
			out.WriteString(b.Text + "\n")
		}
	}
	return out.String()
}
