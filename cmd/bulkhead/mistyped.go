package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// addGroup adds commands to root, which the help lists below a title, in this order.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// wrapArgErrors makes errors of argument validation usage errors, for c and all commands below it.
func wrapArgErrors(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			var correctable *usage.Error
			switch {
			case err == nil || errors.As(err, &correctable):
				return err
			case c.HasSubCommands():
				return invalidUsage(c, err, similarCommand(c, args))
			case len(args) > 0 && cobra.NoArgs(c, args).Error() == err.Error(): // which speaks of an unknown command
				err = fmt.Errorf("%q is one argument too many", args[0])
			}
			return invalidUsage(c, err, "")
		}
	}
	for _, sub := range c.Commands() {
		wrapArgErrors(sub)
	}
}

// invalidUsage returns the error of a command line, with what was probably meant, which may be empty, and the help of c as remedies.
func invalidUsage(c *cobra.Command, err error, similar string) error {
	if similar != "" {
		return usage.Errorf("%w: did you mean `%s`? See `%s --help`", err, similar, c.CommandPath())
	}
	return usage.Errorf("%w: see `%s --help`", err, c.CommandPath())
}

// similarCommand returns the command below c whose name is args[0] or similar to it; empty if there is none. A command of the same name
// that is further below is preferred to a similar name.
func similarCommand(c *cobra.Command, args []string) string {
	if len(args) == 0 {
		return ""
	}
	var names []string
	for _, sub := range c.Commands() {
		for _, below := range sub.Commands() {
			if below.Name() == args[0] {
				return below.CommandPath()
			}
		}
		names = append(names, sub.Name())
	}
	if near := usage.Nearest(args[0], names); near != "" {
		return c.CommandPath() + " " + near
	}
	return ""
}

// similarFlag returns the flag of c whose name is similar to that of an unknown flag; empty if there is none.
func similarFlag(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || strings.HasPrefix(unknown.GetSpecifiedName(), "-") {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := usage.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return "--" + near
	}
	return ""
}
