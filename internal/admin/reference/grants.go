package reference

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Names of the variables of reference servers and plugins.
const (
	envMemory = "MEMORY_FILE_PATH"
	envZone   = "LOCAL_TIMEZONE"
	envTZ     = "TZ" // the time server's own zone, if neither an option nor LOCAL_TIMEZONE names one
)

// reader reads the arguments and variables of a server.
type reader struct {
	*Server
	start
	env    map[string]string
	mounts []mount
	on     System
}

// servers reads the arguments of each server.
var servers = map[string]func(r *reader){
	"filesystem": (*reader).filesystem, "memory": (*reader).memory, "git": (*reader).git, "fetch": (*reader).fetch, "time": (*reader).time,
}

// variables are those that a server reads and whose plugin has a counterpart.
var variables = map[string][]string{"memory": {envMemory}, "time": {envZone, envTZ}}

// ofLauncher matches the variables of launchers, languages and systems, which do not matter to a plugin.
var ofLauncher = compiledLater(`(?i)^(PATH|LANG|LC_.*|TERM|COLUMNS|NO_COLOR|FORCE_COLOR|DEBUG|LOG_LEVEL|TE?MP|TMPDIR|APPDATA|LOCALAPPDATA|COMSPEC|HOMEDRIVE|HOMEPATH|` +
	`PROGRAMFILES|SYSTEMROOT|USERPROFILE|VIRTUAL_ENV|(NODE|NPM|UV|PIP|PIPX|DOCKER)_.*|PYTHON[A-Z0-9]*)$`)

// environment leaves entries with variables that are not known. Names are shown, and values never.
func (r *reader) environment() {
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		switch {
		case slices.Contains(variables[r.Plugin], name):
		case ofLauncher.get().MatchString(name):
			r.Lose("the variable %s is not passed on: the plugin does not need it", visible.Name(name))
		default:
			r.Leave("the variable %s has no counterpart: remove it from the entry if the server does not need it", visible.Name(name))
		}
	}
}

// options returns the options of the server. Arguments that are not known are reasons to leave the entry.
func (r *reader) options(known map[string]option) []given {
	all, rest, unknown := skip(r.args, known)
	if unknown != "" {
		r.Leave("the option %s has no counterpart", unknown)
	}
	if len(rest) > 0 {
		r.Leave("it has arguments that are not known")
	}
	return all
}

// directories returns a directory of the server for a config, or leaves the entry, with shown in the reason. Only filesystem reads ~ as the home
// directory, and serves the parent of the mounts of its container.
func (r *reader) directories(p, shown string) (dirs []manifest.FS) {
	mounts := []mount{{from: p}}
	if r.container {
		in, below := r.mounted(p)
		if mounts = nil; in != nil && len(below) > 0 {
			r.Leave("%s contains other mounts of the container, and the directory of the machine does not: name directories without mounts below them", shown)
			return nil
		} else if in != nil {
			mounts = []mount{*in}
		} else if r.Plugin == "filesystem" {
			mounts = below
		}
		if len(mounts) == 0 {
			r.Leave("%s is a directory of the container: mount a directory of the machine there", shown)
		}
		if r.Plugin != "memory" {
			r.Lose("paths are those of the machine, not %s", shown)
		}
	}
	for _, m := range mounts {
		if r.container && m.from == "" {
			r.Leave("%s is in a volume of the container, which is no directory of the machine", shown)
			continue
		}
		path, wrong := r.on.place(m.from, r.Plugin == "filesystem" && !r.container)
		if wrong != "" {
			r.Leave("%s %s", shown, wrong)
			continue
		}
		grant := manifest.FS{Path: path, Access: manifest.ReadWrite}
		if m.readOnly {
			grant.Access = manifest.Read
		}
		dirs = append(dirs, grant)
	}
	return dirs
}

// quote quotes an argument for a reason.
func quote(arg string) string { return visible.QuoteBounded(arg, 200) }

func (r *reader) filesystem() {
	if len(r.args) == 0 {
		r.Leave("it names no directory, and gets those that the client shows it: name them with `bulkhead init --plugin filesystem`")
	}
	for _, arg := range r.args {
		if strings.HasPrefix(arg, "-") {
			r.Leave("the option %s has no counterpart", optionName(arg))
			continue
		}
		r.Add(Grants{FS: r.directories(arg, quote(arg))})
	}
	r.Lose("files with secrets, such as .env and keys, are hidden, and .git cannot be changed")
}

func (r *reader) git() {
	var repositories []string
	for _, g := range r.options(map[string]option{"--repository": value, "-r": value, "-v": flag, "-vv": flag, "--verbose": flag}) {
		if g.value != "" {
			repositories = append(repositories, g.value)
		}
	}
	switch len(repositories) {
	case 0:
		r.Leave("it has no --repository, and reads every repository of the user: name one")
	case 1:
		for _, dir := range r.directories(repositories[0], quote(repositories[0])) {
			r.FS = []manifest.FS{{Path: dir.Path, Access: manifest.Read}}
		}
	default:
		r.Leave("it has the option --repository twice")
	}
	r.Writes = []string{"git_add", "git_reset", "git_commit", "git_create_branch", "git_checkout"}
}

func (r *reader) memory() {
	r.options(nil)
	file, named := r.env[envMemory]
	switch {
	case len(r.Left) > 0:
		return
	case !named && len(r.mounts) > 0:
		r.Leave("its file is in a volume or mount of the container: copy the file to a directory of the machine, and name its path with %s", envMemory)
		return
	case !named:
		r.Lose("the graph begins empty: the server's file, memory.jsonl among the files of its package, is not read. Copy it to the plugin's state directory")
		return
	}
	r.on.Base = "" // a relative path refers to the files of the package
	for _, at := range r.directories(file, envMemory) {
		dir, name := path.Split(at.Path)
		if dir == "" || name == "" {
			r.Leave("%s is not the path of a file", envMemory)
			continue
		}
		if dir != "/" {
			dir = strings.TrimSuffix(dir, "/")
		}
		r.Env = map[string]string{envMemory: at.Path}
		r.FS = []manifest.FS{{Path: dir, Access: manifest.ReadWrite}}
	}
}

func (r *reader) fetch() {
	reasons := map[string]string{
		"--ignore-robots-txt": "the plugin always honours robots.txt",
		"--user-agent":        "the plugin's name for web servers is fixed",
		"--proxy-url":         "the host opens connections itself",
		"--allow-private-ips": "private servers are granted one by one: http = [{ origin = \"http://HOST:PORT\", private = true }]",
	}
	for _, g := range r.options(map[string]option{"--ignore-robots-txt": flag, "--user-agent": value, "--proxy-url": value, "--allow-private-ips": flag}) {
		r.Leave("the option %s has no counterpart: %s", g.name, reasons[g.name])
	}
	r.PublicWeb = true
}

// zoneName matches names of zones of the IANA database.
var zoneName = compiledLater(`^[A-Za-z][A-Za-z0-9_+-]{0,30}(/[A-Za-z0-9_+-]{1,30}){0,3}$`)

func (r *reader) time() {
	from := []given{{envTZ, r.env[envTZ]}, {envZone, r.env[envZone]}}
	for _, g := range slices.Concat(from, r.options(map[string]option{"--local-timezone": value})) { // the last one applies
		switch {
		case g.value == "":
		case !zoneName.get().MatchString(g.value):
			r.Leave("%s is not the name of a time zone such as Europe/Paris", g.name)
		default:
			r.Env = map[string]string{envZone: g.value}
		}
	}
}

var drive = compiledLater(`^[A-Za-z]:/`)

// place returns a path of an entry as a path of a config, or what is wrong with it. tilde says whether the server reads ~ as the home directory.
func (on System) place(p string, tilde bool) (_, wrong string) {
	rest, root := slashes(p, on), ""
	for name, variable := range on.Variables {
		if after, ok := strings.CutPrefix(rest, name); ok && (after == "" || after[0] == '/') {
			rest, root = after, variable
			break
		}
	}
	if tilde && root == "" && (rest == "~" || strings.HasPrefix(rest, "~/")) {
		rest, root = rest[1:], "${"+manifest.VarHome+"}"
	}
	isVariable := func(begin string) bool { return strings.Contains(rest, begin) }
	switch {
	case p == "":
		return "", "is empty"
	case !visible.Only(p):
		return "", "has characters that are not visible"
	case isVariable("${"), slices.ContainsFunc(on.Expands, isVariable):
		return "", "has a variable that a config does not have: write an absolute path"
	case slices.Contains(strings.Split(rest, "/"), ".."):
		return "", `has "..": write an absolute path without it`
	case on.Windows && strings.HasPrefix(rest, "//"):
		return "", "is a network path: connect it to a drive"
	case root != "":
	case on.Windows && drive.get().MatchString(rest):
		return rest[:2] + path.Clean(rest[2:]), ""
	case path.IsAbs(rest) && !on.Windows:
		return path.Clean(rest), ""
	case on.Base == "" || path.IsAbs(rest):
		return "", "is relative, and the client does not say to which directory: write an absolute path"
	default:
		root = on.Base
	}
	return strings.TrimSuffix(root+path.Clean("/"+rest), "/"), ""
}
