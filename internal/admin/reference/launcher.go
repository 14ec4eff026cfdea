package reference

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// start is the start of a reference server, without its launcher.
type start struct {
	plugin    string // empty if the arguments of the launcher are not understood
	unknown   string // why they are not, if an option is the reason
	container bool   // whether it runs in a container, whose paths are those of mounts
	given     []given
	args      []string
}

// given is an option that an entry gives to a launcher or to a server.
type given struct{ name, value string }

// option describes an option of a launcher or of a server.
type option int

const (
	flag  option = iota + 1 // takes no value
	value                   // takes a value
	from                    // takes the package whose program is the first argument
)

// launcher is a program that starts servers. names are the names that its first argument has for servers; nil if that is another launcher or
// a program.
type launcher struct {
	command string // the program, and its first arguments
	options map[string]option
	names   *pattern
}

// Options that do not matter to the server, except for the kind from.
var (
	javascript = map[string]option{
		"-y": flag, "--yes": flag, "-q": flag, "--quiet": flag, "-s": flag, "--silent": flag, "--prefer-offline": flag, "--offline": flag,
		"--no-install": flag, "--bun": flag, "-p": from, "--package": from,
	}
	python = map[string]option{
		"-q": flag, "--quiet": flag, "-v": flag, "--verbose": flag, "--offline": flag, "--refresh": flag, "--isolated": flag, "--no-cache": flag,
		"-n": flag, "--native-tls": flag, "--no-progress": flag, "--no-config": flag, "--frozen": flag, "--no-sync": flag, "--locked": flag,
		"-p": value, "--python": value, "--index-url": value, "--default-index": value, "--project": value, "--with": value,
		"--from": from, "--spec": from,
	}
	interpreter = map[string]option{"-u": flag, "-B": flag, "-E": flag, "-I": flag, "-s": flag, "-O": flag, "-q": flag, "-3": flag, "-m": flag}
)

// runsModule is the option of Python without which its first argument is a file.
var runsModule = given{name: "-m"}

var launchers = []launcher{
	{"cmd /c", nil, nil},
	{"npx", javascript, npmPackage}, {"bunx", javascript, npmPackage}, {"pnpx", javascript, npmPackage}, {"npm exec", javascript, npmPackage},
	{"npm x", javascript, npmPackage}, {"pnpm dlx", javascript, npmPackage}, {"yarn dlx", javascript, npmPackage}, {"bun x", javascript, npmPackage},
	{"node", nil, script}, {"bun", nil, script},
	{"uvx", python, pypiPackage}, {"uv tool run", python, pypiPackage}, {"pipx run", python, pypiPackage}, {"uv run", python, nil},
	{"python", interpreter, module}, {"py", interpreter, module},
	{"docker run", dockerRun, image}, {"docker container run", dockerRun, image}, {"podman run", dockerRun, image}, {"podman container run", dockerRun, image},
}

// pythonVersion matches the names of Python's programs.
var pythonVersion = compiledLater(`^python[0-9.]+$`)

// programName returns the name of a program without its directory, and on Windows without its extension and in lower case.
func programName(command string, on System) string {
	name := path.Base(slashes(command, on))
	if on.Windows {
		name = strings.ToLower(name)
		if extension := path.Ext(name); slices.Contains([]string{".exe", ".cmd", ".bat", ".ps1"}, extension) {
			name = strings.TrimSuffix(name, extension)
		}
	}
	return pythonVersion.get().ReplaceAllString(name, "python")
}

// launch finds the server that a command starts.
func launch(command string, args []string, on System) start {
	name := programName(command, on)
	for _, l := range launchers {
		words := strings.Fields(l.command)
		n := len(words) - 1
		if name != words[0] || len(args) < n || !slices.EqualFunc(args[:n], words[1:], strings.EqualFold) {
			continue
		}
		given, rest, unknown := skip(args[n:], l.options)
		switch {
		case unknown != "":
			return start{unknown: fmt.Sprintf("the option %s of %s is not known", unknown, words[0])}
		case len(rest) == 0:
			return start{}
		case l.names == nil:
			return launch(rest[0], rest[1:], on)
		}
		s := start{plugin: find(l.names, slashes(rest[0], on)), container: l.names == image, given: given, args: rest[1:]}
		for _, g := range given {
			if l.options[g.name] != from {
				continue
			}
			if s.plugin = find(program, rest[0]); s.plugin != find(l.names, g.value) {
				return start{}
			}
		}
		if l.names == module && !slices.Contains(given, runsModule) {
			return start{}
		}
		if l.names == npmPackage && len(s.args) > 0 && s.args[0] == "--" {
			s.args = s.args[1:]
		}
		return s
	}
	return start{plugin: find(program, name), args: args}
}

func slashes(p string, on System) string {
	if on.Windows {
		return strings.ReplaceAll(p, `\`, "/")
	}
	return p
}

// skip returns the options at the beginning of args, and the other arguments. If an option is unknown, the next argument could be its
// value: skip then returns its name.
func skip(args []string, known map[string]option) (all []given, rest []string, unknown string) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		g, joined := given{name: arg}, false
		if strings.HasPrefix(arg, "--") {
			g.name, g.value, joined = strings.Cut(arg, "=")
		}
		takes := known[g.name] == value || known[g.name] == from
		switch {
		case known[g.name] == 0, joined && !takes, takes && !joined && len(args) == 0:
			return nil, nil, optionName(arg)
		case takes && !joined:
			g.value, args = args[0], args[1:]
		}
		all = append(all, g)
	}
	return all, args, ""
}

// plainOption matches the name of an option. What does not match could be a value that must not be shown.
var plainOption = compiledLater(`^(?:(--[a-z][a-z0-9-]{0,40})(?:=|$)|(-[!-,.-~]))`)

// optionName returns the name of an option without its value.
func optionName(arg string) string {
	if m := plainOption.get().FindStringSubmatch(arg); m != nil {
		return m[1] + m[2]
	}
	return "-…"
}
