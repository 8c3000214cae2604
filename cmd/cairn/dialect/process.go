package dialect

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/local/process/standalone"
)

// Process returns the command `cairn process`, which runs the process surface as a program of its own. Its flags have
// one dash, for compatibility with existing callers.
func Process(s *cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use: "process -serve|-bridge|-stop|-version|-install", Short: "Run claustrum, which runs programs and reads files for agents, without a node",
		Long: `Run claustrum, which runs programs and reads files for agents, without a node. A binary named claustrum is this command.

  cairn process -serve -socket PATH -token-file FILE    start the daemon
  cairn process -bridge -socket PATH                    relay stdin and stdout to it
  cairn process -stop -socket PATH                      end it; the token is in CLAUDE_RPC_TOKEN
  cairn process -install -cli-dir DIR -cli-version V    install an agent's command line

cairn process -help lists all flags.`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := Claustrum(s, args); code != cli.ExitOK {
				return cli.ExitCode(code)
			}
			return nil
		},
	}
}

// Claustrum runs the process surface with its own arguments and returns the exit code.
func Claustrum(s *cli.Streams, args []string) int {
	in, ok := s.In.(*os.File)
	if !ok {
		in = os.Stdin
	}
	b := cli.ThisBuild()
	return standalone.Main(standalone.Program{Args: args, In: in, Out: cli.Raw(s.Out), Err: cli.Raw(s.Err), ID: b.Commit, Date: b.Date})
}

// IsClaustrum reports whether the binary is named claustrum.
func IsClaustrum(argv0 string) bool { return filepath.Base(argv0) == "claustrum" }
