package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
	"github.com/BurntSushi/toml"
)

// pluginExtension is that of the plugins' archives.
const pluginExtension = ".plugin.tar"

// packPlugins packs each plugin with `bulkhead plugin push`. An archive does not depend on the key that signs it: the key is one of this run,
// and its signatures are dropped, so that builds need no key, and everybody can repeat them. Those of the release are made by sign.
func (r *release) packPlugins(ctx context.Context) error {
	dir := filepath.Join(r.stage, "pack")
	// Where push looks for plugins that are built already.
	if err := os.CopyFS(filepath.Join(dir, "dist", "plugins"), os.DirFS(filepath.Join(r.common(), "plugins"))); err != nil {
		return err
	}
	for _, name := range r.plugins {
		progress("packing the plugin %s", name)
		source := filepath.Join(r.root, "plugins", name)
		cmd := exec.CommandContext(ctx, r.nativeProgram(), "plugin", "push", "file:"+dir, source, "--key", filepath.Join(dir, "key"), "--json")
		var report bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout = dir, buildEnv(), &report
		if err := runQuietly(cmd); err != nil {
			return err
		}
		var pushed struct{ Name, Version, SHA256 string }
		if err := json.Unmarshal(report.Bytes(), &pushed); err != nil {
			return fmt.Errorf("the result of bulkhead plugin push: %w", err)
		}
		manifest, err := os.ReadFile(filepath.Join(r.common(), "plugins", name, "plugin.toml"))
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(manifest); hex.EncodeToString(sum[:]) != pushed.SHA256 {
			return fmt.Errorf("the plugin %s was built twice, and the results differ", name)
		}
		file := pushed.Name + "-" + pushed.Version + pluginExtension
		if err := r.checkSources(ctx, name, filepath.Join(dir, file)); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(dir, file), filepath.Join(r.files, file)); err != nil {
			return err
		}
	}
	return nil
}

// checkSources checks that the archive of a plugin lists no source that git does not track, such as one that git ignores: others could not
// build the same archive.
func (r *release) checkSources(ctx context.Context, name, file string) error {
	tracked, err := r.output(ctx, "git", "ls-files", "-z", "--", "plugins/"+name)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for path := range strings.SplitSeq(tracked, "\x00") {
		known[path] = true
	}
	files, err := readPlugin(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(files["sources.sha256"])) {
		_, source, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if path := "plugins/" + name + "/" + source; !known[path] && !r.snapshot {
			return fmt.Errorf("%s is a source of the plugin, and git does not track it: remove it, or commit it", path)
		}
	}
	return nil
}

// plugin is what is published of a plugin.
type plugin struct {
	name, version, description string
	file                       string // name in the directory of the release
	manifest                   string // SHA-256 of plugin.toml
	archive, signature         []byte
}

// loadPlugins returns the plugins whose archives are in the directory of the release, sorted by name, without signatures.
func (r *release) loadPlugins() ([]*plugin, error) {
	paths, err := filepath.Glob(filepath.Join(r.files, "*"+pluginExtension))
	var plugins []*plugin
	for _, path := range paths {
		p, loadErr := loadPlugin(path)
		if loadErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", path, loadErr))
			continue
		}
		plugins = append(plugins, p)
	}
	if err == nil && len(plugins) == 0 {
		err = fmt.Errorf("%s contains no archive of a plugin: build the release first", r.files)
	}
	return plugins, err
}

func loadPlugin(path string) (*plugin, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files, err := readPlugin(path)
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Plugin struct{ Name, Version, Description string }
	}
	text := files["plugin.toml"]
	if _, err := toml.Decode(string(text), &manifest); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	p := &plugin{name: manifest.Plugin.Name, version: manifest.Plugin.Version, description: manifest.Plugin.Description, file: filepath.Base(path),
		manifest: hex.EncodeToString(sum[:]), archive: data}
	if p.file != p.name+"-"+p.version+pluginExtension {
		return nil, fmt.Errorf("it contains the plugin %s %s", cmp.Or(p.name, "(no name)"), p.version)
	}
	return p, nil
}

// readPlugin returns the content of the files in the archive of a plugin.
func readPlugin(path string) (map[string][]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	files := map[string][]byte{}
	for archive := tar.NewReader(file); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err == nil {
			files[header.Name], err = io.ReadAll(archive)
		}
		if err != nil {
			return nil, err
		}
	}
}

// sign signs the archive of the plugin as `bulkhead plugin push` does. The trusted comment ties the signature to the digest that a config pins.
func (p *plugin) sign(key minisign.PrivateKey) (err error) {
	public, _ := key.Public().(minisign.PublicKey)
	p.signature, err = signBytes(key, p.archive, p.name+" "+p.version+" plugin.toml sha256:"+p.manifest, "signed by bulkhead with the key "+public.String())
	return err
}
