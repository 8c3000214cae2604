package config

import "fmt"

// HexKeyEnv is where other servers' set-ups have the master key. It counts where nothing else names one.
const HexKeyEnv = "YANTRIKDB_ENCRYPTION_KEY_HEX"

// override gives keys the values that the environment has for them.
func override(f *File, env func(string) string) error {
	for _, k := range keys {
		for _, name := range k.variables() {
			v := env(name)
			if v == "" {
				continue
			}
			if k.section == "encryption" {
				f.Encryption = encryption{Generate: f.Encryption.Generate} // the master key comes from one place, whatever other the file names
			}
			if err := k.set(f, v); err != nil {
				return fmt.Errorf("environment %s: %w", name, err)
			}
			break
		}
	}
	if env(HexKeyEnv) != "" && !f.encryption().On() {
		f.Encryption.KeyEnv = HexKeyEnv
	}
	return nil
}

// SecretVariables are the variables of the environment whose values are secrets.
func SecretVariables() []string {
	names := []string{HexKeyEnv}
	for _, k := range keys {
		if k.field.Tag.Get("secret") != "" {
			names = append(names, k.variables()...)
		}
	}
	return names
}
