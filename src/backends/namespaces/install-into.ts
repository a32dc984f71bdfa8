/** The variables that make `pip install` and `npm install -g` write below this directory of the session, where the system's own are read-only. */
export function installInto(prefix: string): Record<string, string> {
  return {
    PYTHONUSERBASE: prefix,
    // Without it pip refuses where the system's packages belong to the distribution, which these are apart from. A virtual environment is not affected.
    PIP_BREAK_SYSTEM_PACKAGES: '1',
    NPM_CONFIG_PREFIX: prefix,
  };
}
