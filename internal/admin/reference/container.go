package reference

import (
	"path"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// mount is a directory of the machine in a container.
type mount struct {
	from     string // path on the machine; empty for a volume, which has no path
	to       string // path in the container
	readOnly bool
}

// dockerRun are the options of docker run. Those that readContainer does not read do not matter to the server.
var dockerRun = map[string]option{
	"-i": flag, "--interactive": flag, "-t": flag, "--tty": flag, "-it": flag, "-ti": flag, "--rm": flag, "--init": flag, "-q": flag, "--quiet": flag,
	"--read-only": flag, "--name": value, "--pull": value, "--platform": value, "--cap-drop": value, "--security-opt": value, "-m": value, "--memory": value,
	"--cpus": value, "--pids-limit": value, "-l": value, "--label": value,
	"-e": value, "--env": value, "--mount": value, "-v": value, "--volume": value,
}

// readContainer reads the mounts and the variables of a container. Of the variables of the entry, it gets only those that an option passes on.
func (r *reader) readContainer() {
	entry := r.env
	r.env = map[string]string{}
	for _, g := range r.given {
		parse := parseVolume
		switch g.name {
		case "-e", "--env":
			name, text, set := strings.Cut(g.value, "=")
			if !set {
				if text, set = entry[name]; !set {
					r.Leave("the variable %s has its value from the client's environment: write the value into the entry", visible.Name(name))
				}
			}
			r.env[name] = text
			continue
		case "--mount":
			parse = parseMount
		case "-v", "--volume":
		default:
			continue
		}
		m, ok := parse(g.value)
		if !ok || !path.IsAbs(m.to) {
			r.Leave("the value of the option %s is not understood", g.name)
		}
		m.to = path.Clean(m.to)
		r.mounts = append(r.mounts, m)
	}
}

// parseMount parses a value of --mount: type=bind,src=/home/me/src,dst=/projects/src,ro.
func parseMount(text string) (m mount, ok bool) {
	kind := "volume"
	for field := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "type":
			kind = value
		case "src", "source":
			m.from = value
		case "dst", "destination", "target":
			m.to = value
		case "ro", "readonly":
			m.readOnly = value != "false" && value != "0"
		default:
			return m, false
		}
	}
	if kind == "volume" {
		return mount{to: m.to}, true
	}
	return m, kind == "bind" && m.from != ""
}

// volume matches a value of --volume: /home/me/src:/projects/src:ro, C:\src:/projects, ${env:HOME}/src:/projects, or NAME:/projects for a volume.
var volume = compiledLater(`^((?:[A-Za-z]:[/\\]|\$?\{[^}]*\})?[^:]*):([^:]*)(?::(ro|rw|z|Z))?$`)

// volumeName matches the name of a volume.
var volumeName = compiledLater(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

func parseVolume(text string) (mount, bool) {
	m := volume.get().FindStringSubmatch(text)
	if m == nil {
		return mount{}, false
	}
	return mount{from: volumeName.get().ReplaceAllString(m[1], ""), to: m[2], readOnly: m[3] == "ro"}, true
}

// mounted returns the mount that contains a path in the container, as the mount of this path, and the mounts below it.
func (r *reader) mounted(p string) (in *mount, below []mount) {
	within := func(dir, p string) bool { return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/") }
	p = path.Clean(p)
	for _, m := range r.mounts {
		switch {
		case within(m.to, p) && (in == nil || len(m.to) > len(in.to)):
			in = &m
		case within(p, m.to):
			below = append(below, m)
		}
	}
	if in != nil && in.from != "" && in.to != p {
		in.from += "/" + strings.TrimPrefix(p[len(in.to):], "/")
	}
	return in, below
}
