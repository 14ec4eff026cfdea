package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

// wheelName is the name of the Python package; as a distribution it is npmName.
const wheelName = "bulkhead_mcp"

//go:embed wheel_init.py
var wheelInit []byte

// wheelTags are the platforms of wheels. The programs for Linux are static, so that they run with every C library; those for macOS need the
// least version that Go supports.
var wheelTags = map[string]string{
	"linux/amd64":   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_12_0_x86_64",
	"darwin/arm64":  "macosx_12_0_arm64",
	"windows/amd64": "win_amd64",
}

// makeWheels packs a wheel for each platform: a Python package with the program, and a command that starts it.
func (r *release) makeWheels(context.Context) error {
	version := pythonVersion(r.version)
	for _, p := range r.platforms {
		progress("packing the wheel for %s", p)
		dir := filepath.Join(r.stage, p.os+"_"+p.arch, "wheel")
		content, info := filepath.Join(dir, wheelName), filepath.Join(dir, wheelName+"-"+version+".dist-info")
		if err := r.copyProgram(p, content); err != nil {
			return err
		}
		if err := writeFiles(content, map[string][]byte{"__init__.py": wheelInit}); err != nil {
			return err
		}
		if err := writeFiles(info, map[string][]byte{
			"METADATA":         r.wheelMetadata(version),
			"WHEEL":            wheelTagsFile(p),
			"entry_points.txt": fmt.Appendf(nil, "[console_scripts]\nbulkhead = %s:main\n%s = %[1]s:main\n", wheelName, npmName),
		}); err != nil {
			return err
		}
		if err := writeRecord(dir, filepath.Join(info, "RECORD")); err != nil {
			return err
		}
		for _, each := range []string{dir, content} { // only in the second one the program is executable
			if err := normalize(each, r.date); err != nil {
				return err
			}
		}
		file := fmt.Sprintf("%s-%s-py3-none-%s.whl", wheelName, version, wheelTags[p.String()])
		if err := createFile(filepath.Join(r.files, file), func(w io.Writer) error { return writeZip(w, dir, "", r.date) }); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) wheelMetadata(version string) []byte {
	text := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: %s\nLicense: Apache-2.0\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n", npmName, version, summary)
	if r.homepage != "" {
		text += "Home-page: " + r.homepage + "\n"
	}
	return append([]byte(text+"\n"), r.packageReadme()...)
}

func wheelTagsFile(p platform) []byte {
	text := "Wheel-Version: 1.0\nGenerator: bulkhead-release\nRoot-Is-Purelib: false\n"
	for tag := range strings.SplitSeq(wheelTags[p.String()], ".") {
		text += "Tag: py3-none-" + tag + "\n"
	}
	return []byte(text)
}

// writeRecord writes the digests of all files in dir to the file record, which is in dir, and names itself without a digest.
func writeRecord(dir, record string) error {
	var text strings.Builder
	err := walk(dir, "", func(path, name string, info fs.FileInfo) error {
		if info.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&text, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
		return nil
	})
	if err != nil {
		return err
	}
	name, err := filepath.Rel(dir, record)
	if err != nil {
		return err
	}
	return os.WriteFile(record, []byte(text.String()+filepath.ToSlash(name)+",,\n"), 0o644)
}

var preRelease = regexp.MustCompile(`^-(alpha|beta|rc)\.([0-9]+)$`)

// pythonVersion returns a semantic version in the form of PEP 440. Pre-releases other than alpha.N, beta.N and rc.N have no form with the same
// order: they are local versions, which PyPI refuses.
func pythonVersion(version string) string {
	pre := semver.Prerelease(version)
	number := strings.TrimSuffix(strings.TrimPrefix(version, "v"), pre)
	if pre == "" {
		return number
	}
	if m := preRelease.FindStringSubmatch(pre); m != nil {
		return number + map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[m[1]] + m[2]
	}
	return number + ".dev0+" + strings.ToLower(strings.ReplaceAll(pre[1:], "-", "."))
}
