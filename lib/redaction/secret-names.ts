/**
 * Words that make a name secret, as one of its parts (`user_pin`) or as two that follow each other (`apiKey`, `pass-word`):
 * English, Portuguese, and what frameworks call such things.
 */
const secretWords = words(`
  password passwd passwort kennwort pwd passphrase passcode senha contrasena contrassenha palavrapasse motpasse
  secret secreto secreta segredo token jwt bearer authorization credential credencial credenciai cookie
  pin otp totp hotp cvv cvc csrf xsrf mnemonic phpsessid jsessionid sessid
  apikey chaveapi apichave accesskey privatekey privkey chaveprivada clavesecreta claveprivada encryptionkey signingkey
  masterkey sharedkey sshkey sessionkey subscriptionkey accountkey storagekey keymaterial
  sessionid sessionidentifier idsession sessaoid idsessao connectsid
  securitycode codigoseguranca codigoverificacao verificationcode recoverycode backupcode mfacode recoveryphrase seedphrase
  frasesecreta magiclink
  basicauth proxyauth xauth authheader authkey authcode
  userpass dbpass smtppass mailpass emailpass ftppass adminpass rootpass loginpass proxypass redispass
`);

/** Secret only where they are all of the name. */
const secretNames = words('auth pass psw pw sid');

/** Those that are recognised inside of a word as well, where a name was written without any sign between its parts. */
const inside =
  /passw(?:or)?d|passwort|passphrase|passcode|(?<![dr]e)senha(?!nc)|secret(?!ar|ion)|segredo|token(?!i[sz])|credential|credencia|cookie|authorization|api_?key|accesskey|privatekey|sessionid/g;

/** What follows a secret's name where something about it is told, and not the secret: `tokenCount`, `passwordChangedAt`. */
const qualifiers = words(`
  count counts quantity quantidade qtd contagem length size tamanho limit limite max min maximum minimum total budget usage
  used remaining price cost per ttl age expiry expires expired expiration expira expiracao validade at changed updated
  created rotated type kind tipo format algorithm version policy politica rule rules required enabled disabled strength
  attempt attempts tentativas status valid verified invalid field label placeholder scheme scope scopes issuer audience name
  endpoint consent banner notice accepted preferences less
`);

/** What stands before `tokens` where they are counted: those of a language model. */
const counters = words(`
  max min total num n number count prompt completion input output used cached reasoning remaining audio text
`);

/** What a name begins with that asks whether there is a secret. */
const questions = words('is has had needs requires must can should tem possui exige');

/** Words that say nothing: `codigo_de_seguranca`. */
const fillers = words('de da do of the');

/** Of longer names the beginning and the end are looked at: a name is read by people. */
const longestEnd = 256;

/** Whether what a value is called says that it is secret. */
export function isSecretName(name: string): boolean {
  const parts = partsOf(name);
  if (parts.length === 0) return false;
  if (parts.length === 1 && secretNames.has(parts[0] ?? '')) return true;
  const last = lastSecret(parts);
  if (last === undefined || questions.has(parts[0] ?? '')) return false;
  if (parts.slice(last + 1).some((part) => qualifiers.has(part))) return false;
  const isCounted = parts[last] === 'tokens' && parts.slice(0, last).some((part) => counters.has(part));
  return !isCounted;
}

/** `userPassword`, `user_password` and `ＵＳＥＲ-password` alike; digits say nothing. */
function partsOf(name: string): readonly string[] {
  const short =
    name.length > 2 * longestEnd ? `${name.slice(0, longestEnd)} ${name.slice(-longestEnd)}` : name;
  return (
    short
      // Compatibility forms, and without accents and what cannot be seen.
      .normalize('NFKD')
      .replace(/[\p{M}\p{Cf}]/gu, '')
      .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
      .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
      .toLowerCase()
      .split(/[^\p{L}]+/u)
      .filter((part) => part !== '' && !fillers.has(part))
  );
}

/** Where the last secret word of a name is. */
function lastSecret(parts: readonly string[]): number | undefined {
  for (let index = parts.length - 1; index >= 0; index -= 1) {
    const part = parts[index] ?? '';
    if (isSecretWord(part) || holdsSecret(part)) return index;
    if (index > 0 && isSecretWord(`${parts[index - 1] ?? ''}${part}`)) return index;
  }
  return undefined;
}

function isSecretWord(word: string): boolean {
  return secretWords.has(word) || (word.endsWith('s') && secretWords.has(word.slice(0, -1)));
}

/** `minhasenha`, `passwordhash`; not `tokencount`. */
function holdsSecret(word: string): boolean {
  for (const match of word.matchAll(inside)) {
    const rest = word.slice(match.index + match[0].length).replace(/^s/, '');
    if (!qualifiers.has(rest)) return true;
  }
  return false;
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}
