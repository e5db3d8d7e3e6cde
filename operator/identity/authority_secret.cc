#include "operator/identity/authority_secret.h"

#include <absl/status/status.h>
#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <chrono>

namespace freezepipe::identity {
namespace {

using kube::Json;
using Pointer = Json::json_pointer;

constexpr char kCertificateField[] = "tls.crt";
constexpr char kKeyField[] = "tls.key";

absl::StatusOr<PemIdentity> Read(const Json& secret) {
  PemIdentity authority;
  // Bytes that aren't base64 make a certificate that can't be read.
  absl::Base64Unescape(kube::TextAt(secret, Pointer("/data") / kCertificateField),
                       &authority.certificate);
  absl::Base64Unescape(kube::TextAt(secret, Pointer("/data") / kKeyField), &authority.key);
  const absl::Status usable = CheckAuthority(authority, std::chrono::system_clock::now());
  if (usable.ok()) return authority;
  return absl::FailedPreconditionError(
      absl::StrCat("Secret ", kube::KeyText(kube::KeyOf(secret)), ": ", usable.message(),
                   "; delete it to have a new one made (running workers won't accept that one)"));
}

Json MakeSecret(const kube::ObjectKey& key, const PemIdentity& authority) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", {{"namespace", key.ns}, {"name", key.name}}},
          {"type", "kubernetes.io/tls"},
          {"data",
           {{kCertificateField, absl::Base64Escape(authority.certificate)},
            {kKeyField, absl::Base64Escape(authority.key)}}}};
}

}  // namespace

absl::StatusOr<PemIdentity> LoadOrMakeAuthority(kube::Client& client,
                                                const kube::ObjectKey& secret) {
  const absl::StatusOr<Json> there = client.Get(kSecrets, secret);
  if (there.ok()) return Read(*there);
  if (!absl::IsNotFound(there.status())) return there.status();
  const absl::StatusOr<PemIdentity> made = MakeAuthority(std::chrono::system_clock::now());
  if (!made.ok()) return made.status();
  const absl::Status created = client.Create(kSecrets, MakeSecret(secret, *made)).status();
  if (created.ok()) return made;
  if (!absl::IsAlreadyExists(created)) return created;
  // Another replica was first, or an earlier try whose answer was lost.
  const absl::StatusOr<Json> first = client.Get(kSecrets, secret);
  if (!first.ok()) return first.status();
  return Read(*first);
}

}  // namespace freezepipe::identity
