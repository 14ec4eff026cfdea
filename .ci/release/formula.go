package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed formula.rb.tmpl
var formulaText string

// makeFormula writes the Homebrew formula. It installs the archives.
func (r *release) makeFormula(context.Context) error {
	type source struct{ URL, SHA256 string }
	systems := map[string]map[string]source{} // by Homebrew's names of systems and processors
	for _, p := range r.platforms {
		if p.os == "windows" {
			continue
		}
		data, err := os.ReadFile(r.archive(p))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		system := map[string]string{"darwin": "macos", "linux": "linux"}[p.os]
		if systems[system] == nil {
			systems[system] = map[string]source{}
		}
		processor := map[string]string{"amd64": "intel", "arm64": "arm"}[p.arch]
		systems[system][processor] = source{r.download + "/" + filepath.Base(r.archive(p)), hex.EncodeToString(sum[:])}
	}
	if len(systems) == 0 {
		return fmt.Errorf("the formula needs a platform of macOS or Linux: pass one to --platforms, or leave it out with --without formula")
	}
	formula, err := template.New("formula").Parse(formulaText)
	if err != nil {
		return err
	}
	return createFile(filepath.Join(r.files, "bulkhead.rb"), func(w io.Writer) error {
		return formula.Execute(w, map[string]any{"Homepage": r.homepage, "Version": r.number(), "Systems": systems})
	})
}
