package main

import (
	"context"
	_ "embed"
	"io"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed install.sh.tmpl
var installerText string

// makeInstaller writes a script that verifies and installs the archive of the user's platform.
func (r *release) makeInstaller(context.Context) error {
	script, err := template.New("installer").Parse(installerText)
	if err != nil {
		return err
	}
	return createFile(filepath.Join(r.files, "install.sh"), func(w io.Writer) error {
		return script.Execute(w, map[string]string{"Version": r.version, "Download": shellQuote(r.download)})
	})
}

func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
